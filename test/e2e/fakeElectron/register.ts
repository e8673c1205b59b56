import { registerHooks } from 'node:module';

/** Preloaded into Node: resolves the module `electron` of the built app to the fake one. */
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === 'electron'
      ? { url: new URL('./electron.ts', import.meta.url).href, shortCircuit: true }
      : nextResolve(specifier, context),
});
