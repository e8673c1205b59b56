/** The tool that made a derived document. The version is that of this program's rules, then `+` and the library. */
export interface Tool {
  tool: string;
  toolVersion: string;
}

function tool(name: string, rules: string, library?: string): Tool {
  return { tool: `strongroom-${name}`, toolVersion: library ? `${rules}+${library}` : rules };
}

/**
 * The tool that extracts the text of each kind of object. A change to the output must raise the first number: documents
 * of other versions are then derived again. A test compares the libraries' versions with `package.json`.
 */
export const TEXT_TOOLS = {
  html: tool('html-text', '1', 'html-to-text.10.0.1'),
  pdf: tool('pdf-text', '1', 'pdfjs-dist.6.5.438'),
  json: tool('json-text', '1', 'jsonc-parser.3.3.1'),
  csv: tool('csv-text', '1', 'csv-parse.7.0.3'),
  xml: tool('xml-text', '1', 'cheerio.1.2.0'),
  text: tool('plain-text', '1'),
} as const satisfies Record<string, Tool>;

/** Recorded for objects without text. Combines all versions, because a new version of any tool may find a text. */
export const NO_TEXT_TOOL: Tool = tool(
  'text',
  '1',
  Object.values(TEXT_TOOLS)
    .map(({ toolVersion }) => toolVersion.replace('+', '.'))
    .join('.'),
);

const CURRENT = [...Object.values(TEXT_TOOLS), NO_TEXT_TOOL];
/** The current tools, each as `tool version`. */
export const CURRENT_TEXT_TOOLS: readonly string[] = CURRENT.map(
  ({ tool, toolVersion }) => `${tool} ${toolVersion}`,
);
