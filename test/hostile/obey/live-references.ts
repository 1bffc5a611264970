import { marked } from 'marked'
import { parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'

/** Where the answer is shown. */
const client = 'https://client.example/chat/'
const addresses = new Set(
  'href src srcset xlink:href poster data action formaction background cite manifest ping longdesc'.split(
    ' ',
  ),
)

/**
 * What a client would fetch, or follow at a click, if it showed this text: as Markdown with HTML in it, and as HTML. By
 * parsers that know nothing of ours.
 *
 * @param isNamed Hosts that do not count.
 */
export function liveReferences(text: string, isNamed: (host: string) => boolean = () => false) {
  const isLive = (value: string): boolean => {
    if (!URL.canParse(value, client)) return false
    const { protocol, host } = new URL(value, client)
    if (/^(data|javascript|vbscript|blob):$/.test(protocol)) return true
    return /^(https?|wss?|ftp):$/.test(protocol) && host !== 'client.example' && !isNamed(host)
  }
  const inElement = ({ tagName, attrs, childNodes }: Tree.Element): readonly string[] => {
    const inside = childNodes.map((one) => ('value' in one ? one.value : '')).join('')
    if (tagName === 'script') return [`<script>${inside}`]
    const styles = [
      ...(tagName === 'style' ? [inside] : []),
      ...attrs.filter(({ name }) => name === 'style').map(({ value }) => value),
    ]
    const refresh = tagName === 'meta' ? attrs.filter(({ name }) => name === 'content') : []
    return [
      ...attrs
        .filter(({ name, prefix }) => addresses.has(prefix ? `${prefix}:${name}` : name))
        .flatMap(({ name, value }) =>
          name === 'srcset' ? value.split(',').map((one) => one.trim().split(/\s/)[0]!) : [value],
        ),
      ...refresh.map(({ value }) => value.replace(/^.*url\s*=\s*['"]?/i, '')),
    ]
      .filter(isLive)
      .concat(styles.filter((style) => /url\s*\(|@import|image-set|\\/i.test(style)))
  }
  const within = (node: Tree.Node): readonly string[] => [
    ...('attrs' in node ? inElement(node) : []),
    ...('content' in node ? within(node.content) : []),
    ...('childNodes' in node ? node.childNodes.flatMap(within) : []),
  ]
  return [...within(parse(marked.parse(text, { async: false }))), ...within(parse(text))]
}
