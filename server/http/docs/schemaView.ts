import { Html, html } from '../../html.ts';
import type { JsonSchema } from '../openapi/types.ts';
import { inline } from './prose.ts';

const COMPONENT = '#/components/schemas/';

/** Describes the type of a value in a few words, with links to named schemas. */
export function typeText(schema: JsonSchema): Html {
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
export function schemaView(schema: JsonSchema): Html {
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
