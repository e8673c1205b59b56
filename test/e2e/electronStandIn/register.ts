import { registerHooks } from 'node:module';

/** Preloaded into Node: the module `electron` of the built app is the stand-in from here on. */
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === 'electron'
      ? { url: new URL('./electron.ts', import.meta.url).href, shortCircuit: true }
      : nextResolve(specifier, context),
});
