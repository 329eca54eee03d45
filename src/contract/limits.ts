/** Named limits of one request. A profile is chosen when the server starts, never by a client. */

export interface Limits {
  readonly profile: LimitsProfile;
  /** Alternatives at each position. */
  readonly logprobsMax: number;
  readonly stopStringsMax: number;
  readonly nMax: number;
  readonly bestOfMax: number;
  /** Prompts times candidates of one request. */
  readonly candidatesMax: number;
  readonly logitBiasEntriesMax: number;
  readonly stopTokensMax: number;
}

export type LimitsProfile = "openai" | "extended";

/** Prompts times candidates of one request, under every profile. */
export const candidatesMax = 2048;

const common = {
  nMax: 128,
  bestOfMax: 20,
  candidatesMax,
  logitBiasEntriesMax: 1024,
  stopTokensMax: 64,
};

/** `openai` follows OpenAI's published ranges; `extended` admits what local clients send. */
export const limitsProfiles: Readonly<Record<LimitsProfile, Limits>> = {
  openai: { profile: "openai", logprobsMax: 5, stopStringsMax: 4, ...common },
  extended: { profile: "extended", logprobsMax: 20, stopStringsMax: 64, ...common },
};

/** The sentence that tells a client's owner how a limit can be raised; "" where it cannot. */
export function limitHint(param: string, limits: Limits): string {
  if (limits.profile === "extended") return "";
  const extended = limitsProfiles.extended;
  const wider =
    param === "logprobs"
      ? extended.logprobsMax
      : param === "stop"
        ? extended.stopStringsMax
        : undefined;
  if (wider === undefined) return "";
  return (
    ` (HINT: this is the limit of the '${limits.profile}' limits profile; a server started with ` +
    `--limits extended accepts up to ${wider}.)`
  );
}
