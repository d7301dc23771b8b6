import { environmentValue, type OpenedModel, type ProviderOptions, sdkSettings } from "../../models/provider.ts";

interface OpenAiCompatiblePackage {
  createOpenAICompatible(settings: object): (modelId: string) => object;
}

export async function open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel> {
  const provider = (sdk as OpenAiCompatiblePackage).createOpenAICompatible({
    name: "ollama",
    baseURL: endpointOf(environmentValue(options, "OLLAMA_HOST")),
    includeUsage: true,
    ...(options.apiKey !== undefined && { apiKey: options.apiKey }),
    ...sdkSettings(options),
  });
  return { languageModel: provider(modelId), secrets: options.apiKey === undefined ? [] : [options.apiKey] };
}

/** OLLAMA_HOST is written as a URL, as a host, or as host and port. */
function endpointOf(host = "127.0.0.1"): string {
  const url = new URL(host.includes("://") ? host : `http://${host}`);
  if (url.port === "" && !host.includes("://")) url.port = "11434";
  return new URL("v1", url.href.endsWith("/") ? url : `${url.href}/`).href;
}
