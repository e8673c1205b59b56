import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import { type Html, html } from '../../html.ts';
import type { JsonSchema, MediaType, Method, OpenApiDocument, Operation } from '../openapi/types.ts';
import { curlExample } from './curl.ts';
import { inline, prose } from './prose.ts';
import { schemaView, typeText } from './schemaView.ts';

const PROBLEM = 'application/problem+json';

/** Renders one operation with its parameters, body, responses and problems. */
export function operationView(
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
export function problemCodes({ responses }: Operation): ProblemCode[] {
  return Object.values(responses).flatMap(({ content }) => {
    const schema = content?.[PROBLEM]?.schema as { properties?: { code?: JsonSchema } } | undefined;
    return (schema?.properties?.code?.enum ?? []) as ProblemCode[];
  });
}

/** Allows a line break after each slash of a path. */
export function breakable(path: string): Html {
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
