/**
 * Reads the curl commands of examples, so that they can be sent without curl: a machine that runs
 * the tests need not have it. Throws on what no example needs.
 */

export interface CurlRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** One command; `text` is the whole block. */
export function readCurl(text: string): CurlRequest {
  const [command, ...rest] = shellWords(text);
  if (command !== "curl") throw new Error(`not a curl command: ${text}`);
  const headers: Record<string, string> = {};
  const urls: string[] = [];
  let body: string | undefined;
  let method: string | undefined;
  for (let words = rest; words.length > 0; ) {
    const [word = "", value = "", ...others] = words;
    words = word === "-N" || !word.startsWith("-") ? words.slice(1) : others;
    if (word === "-H") headers[nameOf(value)] = value.slice(value.indexOf(":") + 1).trim();
    else if (word === "-d") body = value;
    else if (word === "-X") method = value;
    else if (!word.startsWith("-")) urls.push(word);
    else if (word !== "-N") throw new Error(`an option that this reader does not know: ${word}`);
  }
  const [url] = urls;
  if (url === undefined || urls.length > 1) throw new Error(`not one URL: ${text}`);
  if (body !== undefined) headers["content-type"] ??= "application/x-www-form-urlencoded";
  return { url, method: method ?? (body === undefined ? "GET" : "POST"), headers, body };
}

const nameOf = (header: string): string => header.slice(0, header.indexOf(":")).toLowerCase();

/** Words of one POSIX command: quotes, backslashes, lines that go on. */
export function shellWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  const part = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\\n|\\(.)|([^\s'"\\]+)|(\s+)/gs;
  let end = 0;
  for (const match of text.trim().matchAll(part)) {
    if (match.index !== end) throw new Error(`cannot be read as shell: ${text.slice(end)}`);
    end += match[0].length;
    const [whole, single, double, escaped, plain, space] = match;
    if (space !== undefined) {
      if (space.includes("\n")) throw new Error(`more than one command: ${text}`);
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (whole !== "\\\n") {
      word =
        (word ?? "") + (single ?? double?.replaceAll(/\\(["\\$`])/g, "$1") ?? escaped ?? plain);
    }
  }
  if (end !== text.trim().length) throw new Error(`cannot be read as shell: ${text.slice(end)}`);
  return word === undefined ? words : [...words, word];
}
