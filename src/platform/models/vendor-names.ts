/** The vendor of a server, by the end of its host; a host that is not in this list is a gateway. */
const vendorByHost: readonly (readonly [string, string])[] = [
  ['api.openai.com', 'openai'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gemini'],
  ['api.x.ai', 'xai'],
  ['api.mistral.ai', 'mistral'],
  ['api.deepseek.com', 'deepseek'],
  ['api.groq.com', 'groq'],
  ['api.perplexity.ai', 'perplexity'],
  ['api.moonshot.ai', 'moonshot'],
  ['api.z.ai', 'zai'],
  ['dashscope-intl.aliyuncs.com', 'dashscope'],
  ['openrouter.ai', 'openrouter'],
  ['api.cloudflare.com', 'cloudflare'],
]

/** How gateways spell the makers whose models cost the same wherever they are sold. */
const makerByPrefix: Readonly<Record<string, string>> = {
  openai: 'openai',
  azure: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  gemini: 'gemini',
  'google-ai-studio': 'gemini',
  'x-ai': 'xai',
  xai: 'xai',
}
const makers = [...new Set(Object.values(makerByPrefix))]

export function vendorOf(baseUrl: string | undefined): string | undefined {
  if (baseUrl === undefined) return 'openai'
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : ''
  return vendorByHost.find(([end]) => host === end || host.endsWith(`.${end}`))?.[1]
}

/**
 * The names `<vendor>/<name>` under which a server's model may be in the price file, best first. At a vendor's own
 * server only that vendor's prices count. At a gateway a prefix must name the vendor; a bare name counts only for
 * makers whose models no other host prices: open weights cost something else at each host. A version's date makes no
 * difference where the file has no such version.
 */
export function vendorNames(vendor: string | undefined): (model: string) => readonly string[] {
  return (model) => {
    const names =
      vendor === undefined
        ? [...(model.includes('/') ? [model] : []), ...namesOfMaker(model)]
        : [`${vendor}/${model}`, ...(vendor === 'openrouter' ? namesOfMaker(model) : [])]
    return names.flatMap((name) => [name, withoutDate(name)])
  }
}

function namesOfMaker(model: string): readonly string[] {
  const [name = '', prefix] = model.split('/').toReversed()
  if (prefix === undefined) return makers.map((maker) => `${maker}/${name}`)
  return Object.hasOwn(makerByPrefix, prefix) ? [`${makerByPrefix[prefix]}/${name}`] : []
}

/** A version's name as that of its model. */
export const withoutDate = (name: string): string =>
  name.replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '')
