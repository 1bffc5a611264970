/** Reads a body as text up to a length; what comes after it is not even downloaded. */
export async function readText(
  response: Response,
  maxChars: number,
): Promise<{ text: string; truncated: boolean }> {
  if (!response.body) return { text: '', truncated: false }
  const decoder = createDecoder(response.headers.get('content-type') ?? '')
  const reader = response.body.getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    text += done ? decoder.decode() : decoder.decode(value, { stream: true })
    if (text.length > maxChars) {
      if (!done) await reader.cancel()
      return { text: cut(text, maxChars), truncated: true }
    }
    if (done) return { text, truncated: false }
  }
}

function createDecoder(contentType: string): TextDecoder {
  const charset = /charset=["']?([\w-]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

/** Does not cut a character of two code units in half. */
function cut(text: string, maxChars: number): string {
  const last = text.charCodeAt(maxChars - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? maxChars - 1 : maxChars)
}
