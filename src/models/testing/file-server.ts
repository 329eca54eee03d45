/** Serves one file over HTTP on loopback, in good ways and in bad ones. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface FileServer {
  readonly url: string;
  readonly requests: readonly { readonly path: string; readonly range: string | undefined }[];
}

export type Answer = (request: IncomingMessage, response: ServerResponse, index: number) => void;

/** `answer` is told which request of the test it is, from 0. */
export async function serveFile(answer: Answer): Promise<FileServer> {
  const requests: { path: string; range: string | undefined }[] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? "", range: request.headers.range });
    answer(request, response, requests.length - 1);
  });
  return { url: await listen(server), requests };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As a good server does it: ranges, 206 and 416. */
export function sendFile(
  content: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  if (start >= content.length && start > 0) {
    response.writeHead(416, { "content-range": `bytes */${content.length}` }).end();
    return;
  }
  const body = content.subarray(start);
  const range = `bytes ${start}-${content.length - 1}/${content.length}`;
  response.writeHead(start > 0 ? 206 : 200, {
    "content-length": body.length,
    ...(start > 0 ? { "content-range": range } : {}),
  });
  response.end(body);
}

/** Sends the beginning and ends the connection; a reset could take sent bytes back. */
export function sendCut(
  content: Buffer,
  bytes: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
  response.writeHead(start > 0 ? 206 : 200, {
    "content-length": content.length - start,
    ...(start > 0
      ? { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` }
      : {}),
  });
  response.write(content.subarray(start, start + bytes), () => response.socket?.end());
}
