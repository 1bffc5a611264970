import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  tools: {
    async get({ key }, { storage }) {
      const value = await storage.get(key)
      return value === undefined ? { found: false } : { found: true, value }
    },
    async set({ key, value }, { storage }) {
      await storage.set(key, value)
      return { stored: key }
    },
    async delete({ key }, { storage }) {
      return { deleted: await storage.delete(key) }
    },
    async list({ prefix, limit = 100 }, { storage }) {
      return { keys: await storage.list({ limit, ...(prefix !== undefined && { prefix }) }) }
    },
  },
})

export default register
