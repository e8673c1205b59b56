import { MantineProvider } from '@mantine/core';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { JobBar } from '../../renderer/src/components/feedback/JobsTray.tsx';

function shown(done: number, total: number | null, unit: string, rate = 0): string {
  const bar = <JobBar title="Job" done={done} total={total} unit={unit} rate={rate} />;
  return renderToStaticMarkup(<MantineProvider>{bar}</MantineProvider>).replaceAll(
    /<style.*?<\/style>|<[^>]*>/gs,
    '',
  );
}

test('one of a unit is named in the singular', () => {
  expect(shown(0, 1, 'sources')).toBe('Job0 of 1 source');
  expect(shown(1, null, 'entries')).toBe('Job1 entry');
  expect(shown(1, 3, 'objects', 1)).toBe('Job1 of 3 objects · 1 object/s · 2 s left');
});
