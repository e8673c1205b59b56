import { Button } from '@mantine/core';
import { IconArrowLeft, IconArrowRight, IconDownload } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ObjectView } from '../../../../shared/collection/view.ts';
import { urlOf } from '../../api/client.ts';
import { viewPath } from '../../format/viewPath.ts';

/** Leads to the neighbouring versions, and downloads the object under a readable name. */
export function ViewActions({ view: { sha256, file_name, source, older, newer } }: { view: ObjectView }) {
  return (
    <>
      {older && (
        <Button
          component={Link}
          to={viewPath({ ...older, source: source.id })}
          variant="default"
          leftSection={<IconArrowLeft size={16} aria-hidden />}
        >
          Older version
        </Button>
      )}
      {newer && (
        <Button
          component={Link}
          to={viewPath({ ...newer, source: source.id })}
          variant="default"
          rightSection={<IconArrowRight size={16} aria-hidden />}
        >
          Newer version
        </Button>
      )}
      <Button
        component="a"
        href={urlOf('readObject', { params: { sha256 } })}
        download={file_name}
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
      >
        Download
      </Button>
    </>
  );
}
