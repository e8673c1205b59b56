import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { JsonTree } from './JsonTree.tsx';
import { jsonNodes } from './jsonNodes.ts';

interface JsonContentProps {
  /** The whole document. */
  text: string;
  label: string;
  /** How the text is shown, by choice or if it is not JSON. */
  asText: (text: string) => React.ReactNode;
}

/** A JSON document as a tree or, by choice, as text. A text that is not JSON is shown as text. */
export function JsonContent({ text, label, asText }: JsonContentProps) {
  const [isText, setIsText] = useState(false);
  const nodes = useMemo(() => jsonNodes(text), [text]);
  if (!nodes) return asText(text);
  return (
    <>
      <div>
        <Button size="compact-sm" variant="default" onClick={() => setIsText(!isText)}>
          {isText ? 'Show as a tree' : 'Show as text'}
        </Button>
      </div>
      {isText ? asText(text) : <JsonTree nodes={nodes} label={label} />}
    </>
  );
}
