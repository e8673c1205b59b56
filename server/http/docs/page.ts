import { PROBLEMS, type ProblemCode } from '../../../shared/problems.ts';
import { Html, html } from '../../html.ts';
import type { Method, OpenApiDocument, Operation } from '../openapi/types.ts';
import { breakable, operationView, problemCodes } from './operationView.ts';
import { inline, prose } from './prose.ts';
import { schemaView } from './schemaView.ts';
import { DOCS_STYLE } from './style.ts';

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
