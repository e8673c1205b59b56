import { HAND_IN_PATH, PAGE_MESSAGE, READY_MESSAGE } from '../handedIn/sentPage.ts';

/**
 * Returns the address of a bookmark that hands in the page on which it is clicked. It opens this node's form, with the
 * address and the selection in the fragment, which browsers send to no server. When the form says that it is ready, it gets
 * the text of the page. The form and the page know each other by their origins.
 */
export function bookmarklet(origin: string): string {
  const code = `(()=>{
const node=${JSON.stringify(origin)};
const said=new URLSearchParams({url:location.href,quote:String(getSelection()).slice(0,10000)});
const opened=open(node+${JSON.stringify(`${HAND_IN_PATH}#`)}+said);
addEventListener('message',(event)=>{
if(event.source!==opened||event.origin!==node||event.data!==${JSON.stringify(READY_MESSAGE)})return;
opened.postMessage({kind:${JSON.stringify(PAGE_MESSAGE)},html:'<!doctype html>'+document.documentElement.outerHTML},node);
});
})()`;
  return `javascript:${encodeURIComponent(code.replaceAll('\n', ''))}`;
}
