import { Button } from '@mantine/core';
import { IconFiles, IconFolder } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { type PathFile, readChosen } from '../assemble/files/readDropped.ts';

/** A button that opens the browser's dialog for files or for a folder. */
export function FileButton({
  label,
  isFolder = false,
  onFiles,
}: {
  label: string;
  isFolder?: boolean;
  onFiles: (files: PathFile[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const Icon = isFolder ? IconFolder : IconFiles;
  useEffect(() => {
    if (isFolder) input.current?.setAttribute('webkitdirectory', '');
  }, [isFolder]);
  return (
    <>
      <Button
        variant={isFolder ? 'default' : 'filled'}
        leftSection={<Icon size={16} aria-hidden />}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={label}
        onChange={(event) => {
          onFiles(readChosen(event.currentTarget.files));
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}
