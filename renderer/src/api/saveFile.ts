/** Saves a file that was created in the page. */
export function saveFile(name: string, text: string, mediaType: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads the URL after this task has ended.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
