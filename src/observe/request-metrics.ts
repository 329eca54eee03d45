/** What is counted of every HTTP request, whatever it asks for. */
import { BoundedNames, otherName } from "./bounded-names.ts";
import type { MetricMaker } from "./metric-maker.ts";

/** Seconds; answers of the side routes take milliseconds, long completions minutes. */
const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** As in the log of common proxies: the client closed the connection before the answer was sent. */
export const clientLeftStatus = 499;
/** Different names of ignored parameters that are told apart. */
export const ignoredNamesMax = 100;
/** Official clients try again twice; from here on all further tries count together. */
const retriesMax = 5;

interface RouteMeters {
  readonly inFlight: { inc(): void; dec(): void };
  readonly seconds: { observe(value: number): void };
}

export class RequestMetrics {
  readonly #requests;
  readonly #inFlight;
  readonly #seconds;
  readonly #retries;
  readonly #errors;
  readonly #ignored;
  readonly #refusedConnections;
  readonly #ignoredNames = new BoundedNames(ignoredNamesMax);
  readonly #nowMs: () => number;
  readonly #byRoute = new Map<string, RouteMeters>();

  constructor(make: MetricMaker, nowMs: () => number) {
    this.#nowMs = nowMs;
    const status = "HTTP requests that were answered; status 499: the client left before.";
    this.#requests = make.counter("http_requests_total", status, ["route", "status"]);
    const inFlight = "HTTP requests that are being answered.";
    this.#inFlight = make.gauge("http_requests_in_flight", inFlight, ["route"]);
    const seconds = "Time from a request's header to the end of its answer.";
    this.#seconds = make.histogram(
      "http_request_duration_seconds",
      seconds,
      ["route"],
      durationBuckets,
    );
    const retries = "Requests that a client sent again, by how often it had tried before.";
    this.#retries = make.counter("http_retries_total", retries, ["retry"]);
    const errors = "Errors sent to clients, also inside of streams, by their row of the table.";
    this.#errors = make.counter("errors_total", errors, ["error"]);
    const refused = "Connections that were closed at once because there were too many.";
    this.#refusedConnections = make.counter("connections_refused_total", refused, []);
    const ignored = "Unknown parameters of requests that were ignored.";
    this.#ignored = make.counter("ignored_parameters_total", ignored, ["parameter"]);
  }

  /** A connection was closed at once: there were as many as there may be. */
  connectionRefused(): void {
    this.#refusedConnections.inc();
  }

  /** A request came in. `route` is a template of the router; undefined: none fits. */
  begin(route: string | undefined, retryCount: string | undefined): RequestMeter {
    const name = route ?? otherName;
    const meters = this.#metersOf(name);
    meters.inFlight.inc();
    const retry = Number(retryCount ?? 0);
    if (Number.isInteger(retry) && retry > 0) {
      this.#retries.inc({ retry: retry < retriesMax ? String(retry) : `${retriesMax}+` });
    }
    const startMs = this.#nowMs();
    return {
      end: (status) => {
        meters.inFlight.dec();
        meters.seconds.observe((this.#nowMs() - startMs) / 1000);
        this.#requests.inc({ route: name, status: String(status ?? clientLeftStatus) });
      },
    };
  }

  /** An error goes out; `name` is its row in the table of errors, where it comes from there. */
  error(name: string | undefined): void {
    this.#errors.inc({ error: name ?? otherName });
  }

  ignored(parameters: readonly string[]): void {
    for (const name of parameters) this.#ignored.inc({ parameter: this.#ignoredNames.of(name) });
  }

  #metersOf(route: string): RouteMeters {
    const known = this.#byRoute.get(route);
    if (known !== undefined) return known;
    const inFlight = this.#inFlight.labels(route);
    const meters = { inFlight, seconds: this.#seconds.labels(route) };
    this.#byRoute.set(route, meters);
    return meters;
  }
}

export interface RequestMeter {
  /** Called once. Undefined: the client left before its answer was complete. */
  end(status: number | undefined): void;
}
