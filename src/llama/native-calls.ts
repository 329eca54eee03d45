/** How native functions are called in this process. Must be settled before the first library opens. */
import koffi from "koffi";

/**
 * Calls run on a stack of koffi's own, 2 MiB unless told: too little for the recursive regular
 * expressions in some tokenizers. 16 MiB is koffi's largest.
 */
const callStackBytes = 16 * 1024 * 1024;

let prepared = false;

/** Called again it does nothing. */
export function prepareNativeCalls(): void {
  if (prepared) return;
  prepared = true;
  koffi.config({
    ...koffi.config(),
    sync_stack_size: callStackBytes,
    async_stack_size: callStackBytes,
    resident_async_pools: 1,
  });
}
