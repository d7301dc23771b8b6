/** The tools of an MCP server, as tools of an agent. */
export { type McpClient, type McpTool, type McpToolsOptions, mcpTools } from "../adapters/mcp/mcp-tools.ts";
