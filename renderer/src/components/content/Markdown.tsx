import { lazy, Suspense } from 'react';
import classes from './content.module.css';
import type { MarkdownProps } from './RenderedMarkdown.tsx';

// The parser is larger than a page.
const RenderedMarkdown = lazy(async () => ({
  default: (await import('./RenderedMarkdown.tsx')).RenderedMarkdown,
}));

/** Shows Markdown written by an uploader or found on the web. Its source is shown until the parser is loaded. */
export function Markdown(props: MarkdownProps) {
  return (
    <div className={`${classes.prose} measure wrap-anywhere`}>
      <Suspense fallback={<p className="keep-lines">{props.text}</p>}>
        <RenderedMarkdown {...props} />
      </Suspense>
    </div>
  );
}
