from host.servers import certificates

__all__ = ["certificates"]
