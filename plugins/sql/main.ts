import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  tools: {
    // The host lets a tool that says it only reads do nothing else.
    async query({ sql, parameters = [] }, { database }) {
      const { rows, truncated } = await database.query(sql, parameters)
      return { rows, ...(truncated && { truncated }) }
    },
    async execute({ sql, parameters = [] }, { database }) {
      const { rows, changes } = await database.query(sql, parameters)
      return { changes, ...(rows.length > 0 && { rows }) }
    },
  },
})

export default register
