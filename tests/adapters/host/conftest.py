from adapters.host.servers import certificates

__all__ = ["certificates"]
