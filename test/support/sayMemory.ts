/** Preloaded into a node: answers each message of its parent with the memory that the process holds, in bytes. */
process.on('message', () => process.send?.(process.memoryUsage.rss()));
// Waiting for messages does not keep the node alive.
process.channel?.unref();
