/**
 * A row computed alone goes through other kernels than a row among several, and comes out with
 * other bits. Where that must not be, each lone row gets a neighbour of its own sequence, one
 * position on, which is cut away again after the call.
 */
import type { Row } from "./backend.ts";

export function padding(row: Row): Row {
  return { ...row, position: row.position + 1 };
}
