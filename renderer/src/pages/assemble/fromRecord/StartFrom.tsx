import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBookmarks, IconWorldDownload } from '@tabler/icons-react';
import { FromRecordDialog } from './FromRecordDialog.tsx';
import { FromZoteroDialog } from './FromZoteroDialog.tsx';

/** The two ways in which a pack begins with a record from elsewhere. */
export function StartFrom({ isEnabled }: { isEnabled: boolean }) {
  const [isRecordOpen, record] = useDisclosure(false);
  const [isZoteroOpen, zotero] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconWorldDownload size={17} aria-hidden />}
        onClick={record.open}
      >
        From a DOI or an address
      </Button>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconBookmarks size={17} aria-hidden />}
        onClick={zotero.open}
      >
        From Zotero
      </Button>
      <FromRecordDialog opened={isRecordOpen} onClose={record.close} />
      <FromZoteroDialog opened={isZoteroOpen} onClose={zotero.close} />
    </>
  );
}
