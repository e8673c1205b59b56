import { ApiProblem } from './client.ts';

/** What the node said about single fields of a flat form, by the field's name, for `form.setErrors`. */
export function fieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiProblem)) return {};
  return Object.fromEntries(
    (error.document.errors ?? []).map(({ path, message }) => [
      path.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'),
      message,
    ]),
  );
}
