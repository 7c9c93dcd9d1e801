/** On which backends do these tests run? Plain JavaScript and WebAssembly everywhere, TensorFlow where it was built. */

import { BackendUnavailable, type BackendName, useBackend } from "../../trainer/backend/backend.ts";

/** Those that start here. One process may use several as long as no tensor outlives a change. */
export async function availableBackends(): Promise<BackendName[]> {
  const found: BackendName[] = [];
  for (const name of ["tensorflow", "wasm", "cpu"] as const) {
    try {
      await useBackend(name);
      found.push(name);
    } catch (error) {
      if (!(error instanceof BackendUnavailable)) throw error;
    }
  }
  return found;
}
