/** Text that is already HTML. Everything else is escaped when it is inserted into a page. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Html | string | number | undefined | null | false | readonly Piece[];

/** A template tag for HTML. Values are escaped unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...values: Piece[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + (index > 0 ? render(values[index - 1]) : '') + string, ''),
  );
}

function render(piece: Piece): string {
  if (piece === undefined || piece === null || piece === false) return '';
  if (piece instanceof Html) return piece.text;
  if (typeof piece === 'object') return piece.map(render).join('');
  return escapeHtml(String(piece));
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
