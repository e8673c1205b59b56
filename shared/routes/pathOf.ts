/**
 * Fills in a path template: `{name}` becomes one percent-encoded segment, `{+name}` several of them.
 *
 * @throws TypeError if a parameter is missing.
 */
export function pathOf(template: string, params: Readonly<Record<string, string | number>> = {}): string {
  return template.replace(/\{(\+?)(\w+)\}/g, (_whole, rest: string, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`The path ${template} needs ${name}.`);
    return rest
      ? String(value).split('/').map(encodeURIComponent).join('/')
      : encodeURIComponent(String(value));
  });
}
