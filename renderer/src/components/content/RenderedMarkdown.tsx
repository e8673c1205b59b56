import ReactMarkdown, { type Components, defaultUrlTransform } from 'react-markdown';
import remarkGfm from 'remark-gfm';
import classes from './content.module.css';

/**
 * Uploaded text is not trusted. Raw HTML is dropped. Images are shown as their alt text and URL and are not
 * loaded. Headings are demoted below the page's own.
 */
const components: Components = {
  // An unsafe URL, such as `javascript:`, arrives here empty.
  a: ({ href, children }) =>
    href ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      children
    ),
  img: ({ alt, src }) => (
    <span className={classes.noImage}>
      [image{alt ? `: ${alt}` : ''}
      {typeof src === 'string' && src ? `, ${src}` : ''}]
    </span>
  ),
  h1: ({ children }) => <h3>{children}</h3>,
  h2: ({ children }) => <h3>{children}</h3>,
  h3: ({ children }) => <h4>{children}</h4>,
  h4: ({ children }) => <h5>{children}</h5>,
  h5: ({ children }) => <h6>{children}</h6>,
  table: ({ children }) => (
    <div className="scroll">
      <table>{children}</table>
    </div>
  ),
};

export interface MarkdownProps {
  text: string;
  /** The address that relative links refer to; null if they lead nowhere. By default, they are left as they are. */
  base?: string | null;
}

/** Renders Markdown with GitHub's tables and lists. `Markdown` loads it when it is first needed. */
export function RenderedMarkdown({ text, base }: MarkdownProps) {
  const resolve = (href: string) =>
    base === undefined
      ? defaultUrlTransform(href)
      : defaultUrlTransform(URL.parse(href, base ?? undefined)?.href ?? '');
  return (
    <ReactMarkdown skipHtml remarkPlugins={[remarkGfm]} components={components} urlTransform={resolve}>
      {text}
    </ReactMarkdown>
  );
}
