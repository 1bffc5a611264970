import { ToolError, type Plugin } from 'isola/plugin'
import { checkAll, listItems, maxItems, readPrice, toKey } from './watched.ts'
import { describeChange, describePrice } from './words.ts'

const defaultThresholdPercent = 1

const register: Plugin = () => ({
  tools: {
    async watch({ url, name, threshold_percent: thresholdPercent }, { fetch, storage, signal }) {
      const key = toKey(url)
      const watched = await storage.list({ prefix: toKey(''), limit: maxItems })
      if (watched.length >= maxItems && !watched.includes(key))
        throw new ToolError('tool_failed', {
          message: `${maxItems} pages are watched already: unwatch one first.`,
        })
      const price = await readPrice(url, { fetch, signal })
      await storage.set(key, {
        url,
        name,
        thresholdPercent: thresholdPercent ?? defaultThresholdPercent,
        told: { ...price },
        seen: { ...price },
      })
      return { watched: url, price: describePrice(price) }
    },
    async unwatch({ url }, { storage }) {
      return { unwatched: await storage.delete(toKey(url)) }
    },
    async list(_input, { storage }) {
      const items = await listItems(storage)
      return {
        items: items.map(({ url, name, thresholdPercent, told, seen }) => ({
          url,
          name,
          threshold_percent: thresholdPercent,
          told: describePrice(told),
          seen: describePrice(seen),
        })),
      }
    },
  },
  schedule: {
    // Text for its owner only if there is something to tell (Y10).
    async execute(capabilities) {
      const checks = await checkAll(capabilities)
      const changes = checks.flatMap((check) => (check.isNews ? [describeChange(check)] : []))
      if (changes.length > 0) return { text: changes.join('\n') }
    },
  },
  agent: {
    async invoke(_request, capabilities) {
      const checks = await checkAll(capabilities)
      if (checks.length === 0) return 'Nothing is watched.'
      return checks.map(describeChange).join('\n')
    },
  },
})

export default register
