/** Where a developer's own server is. */
const local = ['localhost', '127.0.0.1', '[::1]']

/**
 * The host names under which a request may come, and the origins of pages that may send one: localhost, the
 * deployment's own workers.dev name, and the operator's setting. A page that points its own name here is refused.
 * @see docs/security.md T17
 */
export function allowedHosts(url: URL, configured: readonly string[]): string[] {
  const own = url.hostname.endsWith('.workers.dev') ? [url.hostname] : []
  return [...local, ...own, ...configured]
}
