/** The certificate with which the server terminates TLS. */
export interface TlsPair {
  /** PEM: the server's certificate, followed by intermediate certificates. */
  readonly cert: Buffer;
  /** PEM: the private key, unencrypted. */
  readonly key: Buffer;
}

export interface ServedCertificate {
  readonly source: "file" | "acme";
  readonly pair: TlsPair;
  /** The end of the validity period; undefined while the certificate is a placeholder. */
  readonly validTo: Date | undefined;
  /** Sets the function that later pairs are passed to. */
  onReplaced(replaced: (pair: TlsPair) => void): void;
  /** The certificate that proves control of a host (RFC 8737); undefined unless a proof is expected. */
  challengePair?(host: string): TlsPair | undefined;
}
