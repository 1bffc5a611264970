import { isOfThisMachine } from '#contracts/destination.ts'

/**
 * Whether a sign-in may send a request to a host other than the server's: a host that the operator named, a part of
 * the server's domain, or a sibling under the same registered domain. A domain under which any stranger can have a
 * name (a public suffix) is no site. Of a suffix that is not known here the first label counts as a name, so that a
 * doubtful host is refused and an operator has to name it.
 */
export function mayBeAsked(url: URL, server: URL, named: readonly string[]): boolean {
  const host = url.hostname
  if (named.some((one) => one.toLowerCase() === host)) return true
  if (host === server.hostname) return url.protocol === server.protocol
  if (isOfThisMachine(host) || isOfThisMachine(server.hostname))
    return isOfThisMachine(host) && isOfThisMachine(server.hostname)
  const site = siteOf(server.hostname)
  return site !== undefined && (host === site || host.endsWith(`.${site}`))
}

/** Hosters and registries under which strangers are neighbours. */
const shared =
  /(^|\.)(workers\.dev|pages\.dev|vercel\.app|netlify\.app|github\.io|gitlab\.io|herokuapp\.com|onrender\.com|fly\.dev|railway\.app|azurewebsites\.net|azurecontainerapps\.io|azurefd\.net|cloudfront\.net|amazonaws\.com|awsapprunner\.com|run\.app|web\.app|firebaseapp\.com|appspot\.com|cloudfunctions\.net|googleusercontent\.com|ngrok\.io|ngrok\.app|ngrok-free\.app|trycloudflare\.com|deno\.dev|replit\.app|repl\.co|hf\.space|modal\.run|surge\.sh|glitch\.me|smithery\.ai|mcp\.run)$/

/** The domain that a host shares with its siblings; `undefined` if that cannot be known. */
function siteOf(host: string): string | undefined {
  if (/^[\d.]+$/.test(host) || host.startsWith('[')) return undefined
  const labels = host.split('.')
  if (labels.length < 2 || shared.test(host)) return undefined
  const [second = '', top = ''] = labels.slice(-2)
  // co.uk, com.au and their like: two labels that belong to a registry.
  const isRegistry =
    top.length === 2 &&
    (second.length <= 3 || /^(com|net|org|edu|gov|gob|gouv|asso|info)$/.test(second))
  const size = isRegistry ? 3 : 2
  return labels.length < size ? undefined : labels.slice(-size).join('.')
}
