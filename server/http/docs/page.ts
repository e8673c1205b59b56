import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import { EMPTY_DIGEST } from '../../../shared/values/digestPattern.ts';
import { escapeHtml, Html, html } from '../../html.ts';
import type {
  JsonSchema,
  MediaType,
  Method,
  OpenApiDocument,
  Operation,
  Parameter,
} from '../openapi/schemas.ts';

interface Listed {
  path: string;
  method: Method;
  operation: Operation;
}

/** Renders the OpenAPI document as one HTML page without scripts or external resources. */
export function docsPage(document: OpenApiDocument, origin: string): string {
  const { info, tags, components } = document;
  const all = listed(document);
  const groups = tags.map((tag) => ({
    ...tag,
    id: `tag-${tag.name.toLowerCase()}`,
    operations: all.filter(({ operation }) => operation.tags.includes(tag.name)),
  }));
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}: API</title>
<style>${new Html(DOCS_STYLE)}</style>
</head>
<body>
<nav id="contents" aria-label="Contents">
${groups.map(
  ({ id, name, operations }) => html`<p><a href="#${id}">${name}</a></p><ul>
${operations.map(
  ({ operation, method, path }) =>
    html`<li><a href="#${operation.operationId}" title="${operation.summary}"><span class="method ${method}">${method.toUpperCase()}</span> <span>${breakable(path)}</span></a></li>`,
)}</ul>`,
)}
<p><a href="#schemas">Schemas</a></p>
<p><a href="#problems">Problems</a></p>
</nav>
<main>
<header>
<p class="to-contents"><a href="#contents">Contents</a></p>
<h1>${info.title} <small>${info.version}</small></h1>
<p class="lead">${info.summary}.</p>
${prose(info.description)}
<p>Machine-readable: <a href="/api/openapi.json">/api/openapi.json</a> (OpenAPI ${document.openapi}).</p>
${signInView(document)}
</header>
${groups.map(
  ({
    id,
    name,
    description,
    operations,
  }) => html`<section id="${id}"><h2>${name}</h2><p class="lead">${description}</p>
${operations.map(({ path, method, operation }) => operationView(document, origin, path, method, operation))}</section>`,
)}
<section id="schemas"><h2>Schemas</h2>
${Object.entries(components.schemas).map(
  ([name, schema]) => html`<article id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>
${typeof schema.description === 'string' && schema.properties ? html`<p>${inline(schema.description)}</p>` : ''}${schemaView(schema)}</article>`,
)}</section>
<section id="problems"><h2>Problems</h2>
<p class="lead">Errors are returned as <a href="#schema-Problem"><code>application/problem+json</code></a>.</p>
${problemViews(all)}</section>
</main>
</body>
</html>
`;
  return page.text;
}

function listed({ paths }: OpenApiDocument): Listed[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method as Method, operation })),
  );
}

function signInView({ components }: OpenApiDocument): Html {
  return html`<p>Authenticate with one of:</p><ul>${Object.values(components.securitySchemes).map(
    ({ type, description }) =>
      html`<li>${type === 'http' ? html`<code>Authorization: Bearer</code>` : html`a cookie`}: ${inline(String(description))}</li>`,
  )}</ul>`;
}

/** If more operations than this can return a problem, only their number is shown. */
const MAX_LISTED_OPERATIONS = 8;

function problemViews(all: readonly Listed[]): Html {
  const codes = (Object.keys(PROBLEMS) as ProblemCode[]).sort();
  return html`<ul class="codes">${codes.map((code) => {
    const { status, title } = PROBLEMS[code];
    const where = all.filter(({ operation }) => problemCodes(operation).includes(code));
    return html`<li id="problem-${code}"><span class="status">${status}</span> <code class="name">${code}</code> ${title}.
<span class="where">${whereText(where)}</span></li>`;
  })}</ul>`;
}

function whereText(where: readonly Listed[]): Html {
  if (where.length === 0) return html`Not returned by any operation listed here.`;
  if (where.length > MAX_LISTED_OPERATIONS) return html`Returned by ${where.length} operations.`;
  return html`${where.map(
    ({ operation: { operationId } }, index) =>
      html`${index > 0 && ', '}<a href="#${operationId}">${operationId}</a>`,
  )}`;
}

const PROBLEM = 'application/problem+json';

/** Renders one operation with its parameters, body, responses and problems. */
function operationView(
  document: OpenApiDocument,
  origin: string,
  path: string,
  method: Method,
  operation: Operation,
): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const command = curlExample(origin, path, method, operation, document.components.schemas);
  return html`<article id="${operationId}">
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="address"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakable(path)}</code></p>
${prose(description)}
${parameters.length > 0 && parametersView(parameters)}
${requestBody && html`<h4>Body${!requestBody.required && ' (optional)'}</h4>${contentView(requestBody.content)}`}
<h4>Responses</h4>
${Object.entries(responses).map(([status, response]) => {
  const own = Object.entries(response.content ?? {}).filter(([mediaType]) => mediaType !== PROBLEM);
  const isOwn = own.length > 0 || Number(status) < 400;
  if (!isOwn) return '';
  const headers = Object.entries(response.headers ?? {});
  return html`<div class="answer"><p><span class="status">${status}</span> ${inline(response.description.split('; or: ')[0] ?? '')}</p>
${headers.length > 0 && html`<p class="headers">With ${headers.map(([name, { description: what }], index) => html`${index > 0 && ', '}<code title="${what}">${name}</code>`)}</p>`}
${contentView(Object.fromEntries(own))}</div>`;
})}
${problemsView(operation)}
<h4>Example</h4>
<pre><code>${command}</code></pre>
</article>`;
}

/** Returns the codes of the problems that an operation can respond with. */
function problemCodes({ responses }: Operation): ProblemCode[] {
  return Object.values(responses).flatMap(({ content }) => {
    const schema = content?.[PROBLEM]?.schema as { properties?: { code?: JsonSchema } } | undefined;
    return (schema?.properties?.code?.enum ?? []) as ProblemCode[];
  });
}

/** Allows a line break after each slash of a path. */
function breakable(path: string): Html {
  return html`${path.split(/(?<=\/)/).map((piece) => html`${piece}<wbr>`)}`;
}

function parametersView(parameters: NonNullable<Operation['parameters']>): Html {
  const rows = parameters.map(
    ({ name, in: where, required, description, schema }) => html`<li><code class="name">${name}</code>
<span class="may">${where === 'path' ? 'path' : where === 'header' ? 'header' : required ? 'required' : 'optional'}</span>
${schemaView(description ? { ...schema, description } : schema)}</li>`,
  );
  return html`<h4>Parameters</h4><ul class="fields">${rows}</ul>`;
}

function contentView(content: Record<string, MediaType>): Html {
  return html`${Object.entries(content).map(([mediaType, { schema }]) => {
    const what = html`<code>${mediaType}</code>`;
    if (!schema) return html`<p class="content">${what} bytes</p>`;
    if (!schema.properties)
      return html`<p class="content">${what} <span class="type">${typeText(schema)}</span></p>`;
    return html`<details class="content"><summary>${what} ${shortText(schema)}</summary>${schemaView(schema)}</details>`;
  })}`;
}

/** Summarizes a schema, naming the items of a list. Plain text, because a click on it opens the details. */
function shortText({ properties }: JsonSchema): string {
  const { items, next } = properties as { items?: { items?: JsonSchema }; next?: JsonSchema };
  const reference = items?.items?.$ref;
  return next && typeof reference === 'string' ? `a page of ${reference.split('/').at(-1)}` : 'object';
}

function problemsView(operation: Operation): Html {
  const codes = problemCodes(operation);
  return html`<details class="problems"><summary>Problems (${codes.length})</summary><ul>
${codes.map(
  (code) =>
    html`<li><span class="status">${PROBLEMS[code].status}</span> <a href="#problem-${code}"><code>${code}</code></a> ${PROBLEMS[code].title}</li>`,
)}</ul></details>`;
}

const COMPONENT = '#/components/schemas/';

/** Describes the type of a value in a few words, with links to named schemas. */
function typeText(schema: JsonSchema): Html {
  const { $ref, type, items, anyOf, additionalProperties } = schema;
  if (typeof $ref === 'string') return schemaLink($ref.slice(COMPONENT.length));
  if ('const' in schema) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (Array.isArray(schema.enum)) {
    return joined(
      schema.enum.map((value) => html`<code>${JSON.stringify(value)}</code>`),
      ' · ',
    );
  }
  if (Array.isArray(anyOf)) return joined((anyOf as JsonSchema[]).map(typeText), ' or ');
  if (type === 'array') {
    return isSchema(items) ? html`list of ${typeText(items)}` : html`list`;
  }
  if (isSchema(additionalProperties) && !schema.properties) {
    return html`object whose values are ${typeText(additionalProperties)}`;
  }
  if (Array.isArray(type)) return html`${type.join(' or ')}`;
  if (typeof schema.format === 'string') return html`${schema.format}`;
  if (typeof schema.pattern === 'string') return html`<code>${schema.pattern}</code>`;
  if (typeof type === 'string') return html`${type}`;
  return html`anything`;
}

function schemaLink(name: string): Html {
  return html`<a href="#schema-${name}">${name}</a>`;
}

/** Renders the fields of an object, with nested objects in place, or the type of another value. */
function schemaView(schema: JsonSchema): Html {
  const within = objectWithin(schema);
  if (!within?.properties) return html`<p class="type">${typeText(schema)}${rules(schema)}</p>`;
  const isList = within !== schema && schema.type === 'array';
  return html`${isList && html`<p class="type">list of</p>`}${fields(within)}`;
}

function fields({ properties, required }: JsonSchema): Html {
  const needed: ReadonlySet<string> = new Set((required as string[] | undefined) ?? []);
  const rows = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(([name, schema]) => {
    const within = objectWithin(schema);
    const inner = within?.properties ? fields(within) : undefined;
    return html`<li><code class="name">${name}</code>${!needed.has(name) && html` <span class="may">optional</span>`}
<span class="type">${typeWithout(schema, within)}${rules(schema)}</span>${inner}</li>`;
  });
  return html`<ul class="fields">${rows}</ul>`;
}

/** Returns the object schema within a schema (itself, an alternative or the list item), if its fields are inline. */
function objectWithin(schema: JsonSchema): JsonSchema | undefined {
  if (isSchema(schema.properties)) return schema;
  if (schema.type === 'array' && isSchema(schema.items)) return objectWithin(schema.items);
  if (Array.isArray(schema.anyOf)) {
    return (schema.anyOf as JsonSchema[]).map(objectWithin).find((found) => found !== undefined);
  }
  return undefined;
}

function typeWithout(schema: JsonSchema, within: JsonSchema | undefined): Html {
  if (!within?.properties) return typeText(schema);
  if (schema.type === 'array') return html`list of objects`;
  return schema === within ? html`object` : html`object or null`;
}

function rules(schema: JsonSchema): Html {
  const { pattern, format, description } = schema;
  const found = [
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
    between(schema.minimum, schema.maximum, ''),
    typeof pattern === 'string' && typeof format === 'string' && html`<code>${pattern}</code>`,
    'default' in schema && html`default: <code>${JSON.stringify(schema.default)}</code>`,
    typeof description === 'string' && inline(description),
  ].filter((rule) => rule instanceof Html);
  return found.length > 0 ? html`<span class="rules">${joined(found, '; ')}</span>` : html``;
}

function between(low: unknown, high: unknown, unit: string): Html | undefined {
  const least = typeof low === 'number' ? low : undefined;
  const most = typeof high === 'number' ? high : undefined;
  if (least !== undefined && most !== undefined) return html`${least} to ${most}${unit}`;
  if (most !== undefined) return html`at most ${most}${unit}`;
  return least === undefined ? undefined : html`at least ${least}${unit}`;
}

function joined(pieces: readonly Html[], separator: string): Html {
  return html`${pieces.map((piece, index) => (index > 0 ? html`${separator}${piece}` : piece))}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Returns a curl command that calls an operation, with example values for its required input. */
function curlExample(
  origin: string,
  path: string,
  method: Method,
  operation: Operation,
  schemas: Schemas,
): string {
  const { parameters = [], requestBody, security, responses } = operation;
  const lines = [`curl ${quoted(origin + fillPath(path, parameters, schemas))}`];
  if (method !== 'get') lines[0] = lines[0]?.replace('curl', `curl -X ${method.toUpperCase()}`) ?? '';
  if (Object.keys(security[0] ?? {}).length > 0) lines.push('-H "Authorization: Bearer $OWNER_TOKEN"');
  const content = requestBody?.content ?? {};
  const [mediaType] = Object.keys(content);
  if ('multipart/form-data' in content)
    lines.push("-F 'record=<record.json'", "-F 'files=@data.csv;filename=data.csv'");
  else if (mediaType === 'application/json') {
    const example = exampleOf(content[mediaType]?.schema ?? {}, schemas);
    lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(example))}`);
  } else if (mediaType) lines.push(`-H 'Content-Type: ${mediaType}'`, '--data-binary @FILE');
  const responseTypes = Object.keys(responses['200']?.content ?? {});
  if (responseTypes.includes('text/event-stream')) lines.push('-N');
  else if (responseTypes.some((type) => /octet-stream|\*\/\*|zip/.test(type))) lines.push('--output FILE');
  return lines.join(' \\\n  ');
}

/** Quotes text for a shell. Within single quotes only the quote itself needs escaping. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fillPath(path: string, parameters: readonly Parameter[], schemas: Schemas): string {
  const inPath = path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    return String(exampleOf(parameter?.schema ?? {}, schemas));
  });
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(exampleOf(schema, schemas)))}`);
  return inPath + (query.length > 0 ? `?${query.join('&')}` : '');
}

/** Returns a short value that matches a schema. Objects have only their required fields. */
function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const { $ref, anyOf, type, items } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? '';
    return NAMED_EXAMPLES[name] ?? exampleOf(schemas[name] ?? {}, schemas);
  }
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0] as JsonSchema, schemas);
  if (schema.properties) return exampleObject(schema, schemas);
  if (type === 'array') {
    return schema.minItems || items === undefined ? [exampleOf((items ?? {}) as JsonSchema, schemas)] : [];
  }
  return exampleScalar(schema);
}

function exampleScalar(schema: JsonSchema): unknown {
  const { type, pattern, format } = schema;
  if (type === 'integer' || type === 'number') return schema.minimum || 1;
  if (type === 'boolean') return true;
  const prefix = typeof pattern === 'string' ? /^\^([a-z]{2}_)/.exec(pattern)?.[1] : undefined;
  if (prefix) return prefix + EMPTY_DIGEST.slice(0, 20);
  return format === 'uri' ? 'https://example.org/' : 'text';
}

const NAMED_EXAMPLES: Readonly<Record<string, unknown>> = { Digest: EMPTY_DIGEST, NodePath: 'ocean/tides' };

function exampleObject({ properties, required }: JsonSchema, schemas: Schemas): Record<string, unknown> {
  const all = properties as Record<string, JsonSchema>;
  const needed = (required as string[] | undefined) ?? Object.keys(all).slice(0, 1);
  return Object.fromEntries(needed.map((name) => [name, exampleOf(all[name] ?? {}, schemas)]));
}

/** Renders the Markdown subset that the descriptions use: `code`, **strong** and paragraphs. */
function prose(text: string): Html {
  const paragraphs = text.split(/\n\n+/).map((paragraph) => `<p>${inline(paragraph).text}</p>`);
  return new Html(paragraphs.join('\n'));
}

function inline(text: string): Html {
  return new Html(
    escapeHtml(text)
      .replace(/`([^`]+)`/g, '<code>$1</code>')
      .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>'),
  );
}

/** The style of the documentation page: light and dark, for narrow and wide screens. */
const DOCS_STYLE = `
:root { color-scheme: light dark;
  --paper: light-dark(#f8f5ee, #111214); --sheet: light-dark(#fffdf9, #18191c); --sunk: light-dark(#f1ece1, #202226);
  --line: light-dark(#e0d9ca, #2d3035); --text: light-dark(#1e1c19, #e9e6df); --muted: light-dark(#5e584e, #a7a49c);
  --accent: light-dark(#1f3f77, #a3bdf0); --good: light-dark(#22613a, #8ccf9f); --warn: light-dark(#7a4f00, #e0b768);
  --bad: light-dark(#98271f, #f2a097); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: flex; flex-direction: column-reverse; justify-content: flex-end; background: var(--paper); color: var(--text);
  font: 0.9375rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
code, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "Liberation Mono", Menlo, Consolas, monospace; }
code { font-size: 0.8125rem; overflow-wrap: anywhere; }
h1, h2, h3 { font-family: "Iowan Old Style", Palatino, "URW Palladio L", Georgia, "Liberation Serif", serif; line-height: 1.25; }
h1 { font-size: 2.1rem; margin: 0 0 0.5rem; } h1 small { font-size: 1rem; font-weight: 400; color: var(--muted); }
h2 { font-size: 1.6rem; margin: 0; } h3 { font-size: 1.2rem; margin: 0 0 0.35rem; }
h3 a { color: inherit; text-decoration: none; } h3 a:hover { text-decoration: underline; }
h4 { margin: 1.1rem 0 0.35rem; font-size: 0.8125rem; color: var(--muted); font-weight: 600; }
p { margin: 0 0 0.75rem; max-width: 46rem; } .lead { color: var(--muted); }
main { padding: 2rem 1.25rem 6rem; max-width: 60rem; min-width: 0; }
main > section { margin-top: 3.5rem; }
article { margin-top: 1rem; padding: 1.1rem 1.25rem; background: var(--sheet); border: 1px solid var(--line); border-radius: 4px; }
article:target, li:target { outline: 2px solid var(--accent); outline-offset: 2px; }
.address { margin-bottom: 0.6rem; } .address code { font-size: 0.9375rem; }
.method { display: inline-block; min-width: 3.4em; font: 600 0.75rem/1.4 ui-monospace, "Liberation Mono", Menlo, monospace; color: var(--accent); }
.method.post, .method.put, .method.patch { color: var(--good); } .method.delete { color: var(--bad); }
.status { display: inline-block; min-width: 2.4em; font: 600 0.8125rem/1.4 ui-monospace, "Liberation Mono", Menlo, monospace; color: var(--warn); }
.answer .status { color: var(--good); } .answer p { margin-bottom: 0.25rem; } .answer + .answer { margin-top: 0.6rem; }
.headers, .may, .where, .rules { color: var(--muted); font-size: 0.8125rem; }
.rules::before { content: " · "; } .type { overflow-wrap: anywhere; } p.type { margin: 0; }
.name { font-weight: 600; }
ul.fields { list-style: none; margin: 0.35rem 0 0; padding: 0; border-top: 1px solid var(--line); }
ul.fields li { padding: 0.35rem 0; border-bottom: 1px solid var(--line); }
ul.fields ul.fields { margin: 0.35rem 0 0 1rem; } ul.fields ul.fields li:last-child { border-bottom: 0; padding-bottom: 0; }
ul.fields span.type { display: block; }
details, p.content { margin: 0.35rem 0; } summary { cursor: pointer; } main details > :not(summary) { margin-left: 1rem; }
.problems { margin-top: 1rem; } .problems ul { margin: 0.35rem 0; padding: 0; list-style: none; }
.problems summary, .problems li { font-size: 0.875rem; }
pre { margin: 0; padding: 0.75rem 0.9rem; background: var(--sunk); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
ul.codes { list-style: none; padding: 0; } ul.codes li { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
.where { display: block; margin-left: 2.6rem; overflow-wrap: anywhere; }
nav { padding: 1rem 1.25rem 3rem; border-top: 1px solid var(--line); font-size: 0.8125rem; }
nav p { margin: 0.9rem 0 0.2rem; } nav p a { color: inherit; font-weight: 600; text-decoration: none; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li a { display: flex; gap: 0.4rem; padding: 0.16rem 0; text-decoration: none; color: var(--muted); overflow-wrap: anywhere; }
nav li a .method { flex: none; font-size: 0.6875rem; min-width: 3.6em; } nav a:hover { color: var(--accent); }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 21rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border-top: 0; border-right: 1px solid var(--line); padding: 2rem 1.25rem; }
  main { padding: 2rem 3rem 8rem; } .to-contents { display: none; }
}
@media (max-width: 30rem) { main { padding: 1.25rem 0.75rem 4rem; } article { padding: 0.9rem; } }
@media print { nav { display: none; } article { break-inside: avoid-page; border: 0; padding: 0; } }
`;
