import { ApiProblem } from './client.ts';

/** The node's validation errors by field name, for `form.setErrors` of a flat form. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiProblem)) return {};
  return Object.fromEntries(
    (error.document.errors ?? []).map(({ path, message }) => [
      path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'),
      message,
    ]),
  );
}
