/** An end for answers that are not read: what Node holds for a client is held for a time only. */
import type { ServerResponse } from "node:http";
import { Socket } from "node:net";

/**
 * Closes the connection when the client takes nothing of the answer for `stalledClientMs`. To be
 * called when the whole answer is about to be handed over: its own pauses would count.
 */
export function limitReading(raw: ServerResponse, stalledClientMs: number): void {
  const watch = (socket: unknown) => {
    // Requests that tests hand in have no connection.
    if (!(socket instanceof Socket)) return;
    socket.setTimeout(stalledClientMs);
    // Before Node's own listener, which sets how long the connection may stay idle.
    raw.prependOnceListener("finish", () => socket.setTimeout(0));
  };
  if (raw.socket !== null) watch(raw.socket);
  // Behind other answers on the connection it gets its turn later.
  else raw.once("socket", watch);
}
