import { escapeHtml, Html } from '../../html.ts';

/** Renders the Markdown subset that the descriptions use: `code`, **strong** and paragraphs. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n\n+/).map((paragraph) => `<p>${inline(paragraph).text}</p>`);
  return new Html(paragraphs.join('\n'));
}

export function inline(text: string): Html {
  return new Html(
    escapeHtml(text)
      .replace(/`([^`]+)`/g, '<code>$1</code>')
      .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>'),
  );
}
