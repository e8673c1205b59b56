/** What made a derived document. The version names this program's own rules, and behind `+` the library they use. */
export interface Tool {
  tool: string;
  toolVersion: string;
}

function tool(name: string, rules: string, library?: string): Tool {
  return { tool: `strongroom-${name}`, toolVersion: library ? `${rules}+${library}` : rules };
}

/**
 * What makes the text of each kind of object. Whoever changes what a document says raises the first number: documents
 * of other versions are then made anew. A test holds the libraries' versions to `package.json`.
 */
export const TEXT_TOOLS = {
  html: tool('html-text', '1', 'html-to-text.10.0.1'),
  pdf: tool('pdf-text', '1', 'pdfjs-dist.6.5.438'),
  json: tool('json-text', '1', 'jsonc-parser.3.3.1'),
  csv: tool('csv-text', '1', 'csv-parse.7.0.3'),
  xml: tool('xml-text', '1', 'cheerio.1.2.0'),
  text: tool('plain-text', '1'),
} as const satisfies Record<string, Tool>;

/** All of them together, which say of an object that no text can be made: a new one may do better. */
export const NO_TEXT_TOOL: Tool = tool(
  'text',
  '1',
  Object.values(TEXT_TOOLS)
    .map(({ toolVersion }) => toolVersion.replace('+', '.'))
    .join('.'),
);

const CURRENT = [...Object.values(TEXT_TOOLS), NO_TEXT_TOOL];
/** Each as `tool version`. */
export const CURRENT_TEXT_TOOLS: readonly string[] = CURRENT.map(
  ({ tool, toolVersion }) => `${tool} ${toolVersion}`,
);
