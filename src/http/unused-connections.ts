/**
 * Connections that have never sent a byte, as browsers and connection pools open them ahead of
 * need. Node does not count them as idle and would wait for them when the server closes.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";

export class UnusedConnections {
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  closeAll(): void {
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
