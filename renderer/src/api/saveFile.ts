/** Hands a file that this page made to the browser, to be saved where the person keeps such things. */
export function saveFile(name: string, text: string, mediaType: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the address after this task is done.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
