/** A QR code, drawn as one path. Its colours do not follow the theme, because cameras expect dark on light. */
import { encode } from "uqr";

interface QrCodeProps {
  readonly text: string;
  readonly label: string;
  /** Width and height in pixels. */
  readonly side?: number;
}

export function QrCode({ text, label, side = 200 }: QrCodeProps) {
  const { data, size } = encode(text, { ecc: "M", border: 4 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      width={side}
      height={side}
      style={{ maxWidth: "100%", height: "auto" }}
      shapeRendering="crispEdges"
    >
      <path d={`M0 0h${size}v${size}H0z`} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
