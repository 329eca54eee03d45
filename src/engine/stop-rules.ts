/** What ends a candidate, prepared once for all candidates of a job. */
import { StopPatterns } from "../text/stop-matcher.ts";
import { endTokens as endTokensOf } from "./end-tokens.ts";
import type { StopConditions, Vocabulary } from "./engine.ts";

export interface StopRules {
  readonly patterns: StopPatterns;
  /**
   * Tokens that end a generation: the vocabulary's own unless they are ignored, the stop tokens,
   * and special tokens whose name is a stop string.
   */
  readonly endTokens: ReadonlySet<number>;
  /** The same, as the sampler wants them while no end is allowed. */
  readonly endTokenList: readonly number[];
}

const rulesByVocabulary = new WeakMap<Vocabulary, WeakMap<StopConditions, StopRules>>();

/** The rules of a job. Candidates of one job get the same object. */
export function stopRules(stop: StopConditions, vocabulary: Vocabulary): StopRules {
  const known = rulesByVocabulary.get(vocabulary) ?? new WeakMap<StopConditions, StopRules>();
  rulesByVocabulary.set(vocabulary, known);
  const rules = known.get(stop) ?? makeRules(stop, vocabulary);
  known.set(stop, rules);
  return rules;
}

function makeRules(stop: StopConditions, vocabulary: Vocabulary): StopRules {
  const named = stop.strings
    .map((string) => vocabulary.specialToken(string))
    .filter((token) => token !== undefined);
  const natural = stop.ignoreEos ? [] : endTokensOf(vocabulary);
  const endTokens = new Set([...natural, ...stop.tokens, ...named]);
  return { patterns: new StopPatterns(stop.strings), endTokens, endTokenList: [...endTokens] };
}
