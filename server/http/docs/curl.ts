import type { JsonSchema, Method, Operation, Parameter } from '../openapi/types.ts';

/** The SHA-256 of zero bytes. */
const EXAMPLE_DIGEST = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Returns a curl command that calls an operation, with example values for its required input. */
export function curlExample(
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
  const { $ref, anyOf, type, pattern, items, format } = schema;
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
  if (type === 'integer' || type === 'number') return schema.minimum || 1;
  if (type === 'boolean') return true;
  const prefix = typeof pattern === 'string' ? /^\^([a-z]{2}_)/.exec(pattern)?.[1] : undefined;
  if (prefix) return prefix + EXAMPLE_DIGEST.slice(0, 20);
  return format === 'uri' ? 'https://example.org/' : 'text';
}

const NAMED_EXAMPLES: Readonly<Record<string, unknown>> = { Digest: EXAMPLE_DIGEST, NodePath: 'ocean/tides' };

function exampleObject({ properties, required }: JsonSchema, schemas: Schemas): Record<string, unknown> {
  const all = properties as Record<string, JsonSchema>;
  const needed = (required as string[] | undefined) ?? Object.keys(all).slice(0, 1);
  return Object.fromEntries(needed.map((name) => [name, exampleOf(all[name] ?? {}, schemas)]));
}
