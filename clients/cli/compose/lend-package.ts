/** How does an environment outside of any project find `trailgym/env` and `zod`? It is lent this package's own. */

import { registerHooks } from "node:module";

let lent = false;

/** Only what its own folder does not resolve, so that a project's installed version wins. For this process, once. */
export function lendPackage(): void {
  if (lent) return;
  lent = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      try {
        return nextResolve(specifier, context);
      } catch (error) {
        if (!/^(trailgym|zod)(\/|$)/.test(specifier)) throw error;
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
