import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  tools: {
    async run({ code, timeout_ms: timeoutMs }, { isolate }) {
      const { result, logs } = await isolate.run(code, {
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      return { result, ...(logs.length > 0 && { logs }) }
    },
  },
})

export default register
