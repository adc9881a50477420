// Accepts orders as lines of JSON on standard input, and answers each with a line that has its number. Ends when
// standard input ends.
import { createInterface } from "node:readline";

/** @param orders functions by the names of orders */
export async function takeOrders(orders) {
  process.on("uncaughtException", (error) => process.stderr.write(`${error.stack}\n`));
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    const { number, order, ...rest } = JSON.parse(line);
    Promise.resolve(orders[order](rest)).then(
      (answer) => process.stdout.write(`${JSON.stringify({ number, answer })}\n`),
      (error) => process.stdout.write(`${JSON.stringify({ number, error: String(error) })}\n`),
    );
  }
  process.exit(0);
}
